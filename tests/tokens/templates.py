"""Chat templates in the shapes that model families use, written for these tests."""

from __future__ import annotations

CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
CHATML_DEFAULT = (
    "{% if messages[0].role != 'system' %}<|im_start|>system\nYou help.<|im_end|>\n{% endif %}" + CHATML
)
LLAMA3 = (
    "{{ bos_token }}{% for m in messages %}"
    "<|start_header_id|>{{ m.role }}<|end_header_id|>\n\n{{ m.content | trim }}<|eot_id|>{% endfor %}"
    "{% if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>\n\n{% endif %}"
)
DATED = "{{ bos_token }}Today is {{ strftime_now('%d %B %Y, %H:%M:%S.%f') }}.\n" + CHATML
ALTERNATION = (
    "{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('Roles must alternate user/assistant') }}{% endif %}{% endfor %}"
)
GEMMA = (
    "{{ bos_token }}{% if messages[0].role == 'system' %}"
    "{{ raise_exception('System role not supported') }}{% endif %}" + ALTERNATION + "{% for m in messages %}"
    "<start_of_turn>{{ 'model' if m.role == 'assistant' else m.role }}\n{{ m.content | trim }}<end_of_turn>\n"
    "{% endfor %}{% if add_generation_prompt %}<start_of_turn>model\n{% endif %}"
)
MISTRAL = (
    "{{ bos_token }}{% if messages[0].role == 'system' %}{% set sys = messages[0].content %}"
    "{% set rest = messages[1:] %}{% else %}{% set rest = messages %}{% endif %}"
    "{% for m in rest %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('Roles must alternate') }}{% endif %}"
    "{% if m.role == 'user' %}[INST] {% if sys is defined and loop.last %}{{ sys }}\n\n{% endif %}"
    "{{ m.content }} [/INST]{% else %} {{ m.content }}{{ eos_token }}{% endif %}{% endfor %}"
)
LLAMA2 = (
    "{% if messages[0].role == 'system' %}{% set rest = messages[1:] %}"
    "{% set sys = '<<SYS>>\n' + messages[0].content + '\n<</SYS>>\n\n' %}"
    "{% else %}{% set rest = messages %}{% set sys = '' %}{% endif %}{% for m in rest %}"
    "{% set text = sys + m.content if loop.first else m.content %}"
    "{% if m.role == 'user' %}{{ bos_token }}[INST] {{ text | trim }} [/INST]"
    "{% else %} {{ text | trim }} {{ eos_token }}{% endif %}{% endfor %}"
)
QWEN3 = (
    "{% set ns = namespace(last=0) %}"
    "{% for m in messages %}{% if m.role == 'user' %}{% set ns.last = loop.index0 %}{% endif %}{% endfor %}"
    "{% for m in messages %}{% if m.role == 'assistant' %}{% set text = m.content %}{% set why = '' %}"
    "{% if m.reasoning_content is string %}{% set why = m.reasoning_content %}{% elif '</think>' in text %}"
    "{% set why = text.split('</think>')[0].split('<think>')[-1].strip('\n') %}"
    "{% set text = text.split('</think>')[-1].lstrip('\n') %}{% endif %}<|im_start|>assistant\n"
    "{% if loop.index0 > ns.last and (loop.last or why) %}<think>\n{{ why.strip('\n') }}\n"
    "</think>\n\n{% endif %}"
    "{{ text.lstrip('\n') }}<|im_end|>\n"
    "{% else %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n"
    "{% if enable_thinking is defined and enable_thinking is false %}"
    "<think>\n\n</think>\n\n{% endif %}{% endif %}"
)
KEEPS_INLINE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n"
    "{% if m.role == 'assistant' and '</think>' in m.content %}"
    "<think>\n{{ m.content.split('</think>')[0].split('<think>')[-1].strip() }}\n</think>\n\n"
    "{{ m.content.split('</think>')[-1].strip() }}{% else %}{{ m.content }}{% endif %}<|im_end|>\n"
    "{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
R1 = (
    "{{ bos_token }}{% for m in messages %}{% if m.role == 'system' %}{{ m.content }}"
    "{% elif m.role == 'user' %}<|User|>{{ m.content }}"
    "{% else %}<|Assistant|>{{ m.content.split('</think>')[-1] }}{{ eos_token }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|Assistant|><think>\n{% endif %}"
)
OPENS_AND_KEEPS = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n"
    "{% if m.reasoning_content %}<think>\n{{ m.reasoning_content }}\n</think>\n\n{% endif %}"
    "{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n<think>\n{% endif %}"
)
PHI3 = (
    "{% for m in messages %}<|{{ m.role }}|>\n{{ m.content }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)
ZEPHYR = (
    "{% for m in messages %}<<{{ m.role }}>>\n{{ m.content + eos_token }}\n{% endfor %}"
    "{% if add_generation_prompt %}<<assistant>>\n{% endif %}"
)
GRANITE = (
    "{% if messages[0].role != 'system' %}<|start_of_role|>system<|end_of_role|>You are on. Today's date: "
    "{{ strftime_now('%B %d, %Y') }}.{% if thinking %} Think first.{% endif %}{{ eos_token }}\n{% endif %}"
    "{% for m in messages %}<|start_of_role|>{{ m.role }}<|end_of_role|>{{ m.content }}{{ eos_token }}\n"
    "{% endfor %}"
    "{% if add_generation_prompt %}<|start_of_role|>assistant<|end_of_role|>{% endif %}"
)
REWRITES = (
    "{% for m in messages %}<|im_start|>{{ m.role }}"
    "{% if m.role == 'assistant' and not loop.last %} (earlier){% endif %}\n{{ m.content }}<|im_end|>\n"
    "{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
PARTS_ONLY = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n"
    "{% for part in m.content %}{% if part.type == 'text' %}{{ part.text }}{% endif %}{% endfor %}"
    "<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
DROPS_SYSTEM = (
    "{% for m in messages %}{% if m.role == 'user' %}<|User|>{{ m.content }}"
    "{% elif m.role == 'assistant' %}<|Assistant|>{{ m.content }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|Assistant|>{% endif %}"
)
HARMONY = (
    "{% for m in messages %}{% if m.role == 'assistant' %}"
    "{% if loop.last and m.reasoning_content %}"
    "<|start|>assistant<|channel|>analysis<|message|>{{ m.reasoning_content }}<|end|>{% endif %}"
    "<|start|>assistant<|channel|>final<|message|>{{ m.content }}{{ '<|return|>' if loop.last else '<|end|>' }}"
    "{% else %}<|start|>{{ m.role }}<|message|>{{ m.content }}<|end|>{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|start|>assistant{% endif %}"
)
ECHOES = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    "{# an answer may hold <think> and </think> #}"
)
OPENS_ANSWERS = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{% if m.role == 'assistant' %}<|User|>{% endif %}"
    "{{ m.content }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)

TEMPLATES: dict[str, str | None] = {
    "chatml": CHATML,
    "chatml-default": CHATML_DEFAULT,
    "llama3": LLAMA3,
    "dated": DATED,
    "gemma": GEMMA,
    "mistral": MISTRAL,
    "llama2": LLAMA2,
    "qwen3": QWEN3,
    "keeps-inline": KEEPS_INLINE,
    "r1": R1,
    "opens-and-keeps": OPENS_AND_KEEPS,
    "phi3": PHI3,
    "zephyr": ZEPHYR,
    "granite": GRANITE,
    "rewrites": REWRITES,
    "parts-only": PARTS_ONLY,
    "drops-system": DROPS_SYSTEM,
    "harmony": HARMONY,
    "echoes": ECHOES,
    "opens-answers": OPENS_ANSWERS,
    "none": None,
}
