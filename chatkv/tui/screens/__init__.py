"""The screens: chat, sessions, help, and the small questions in front of them."""
