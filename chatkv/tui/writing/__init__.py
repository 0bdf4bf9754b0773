"""What happens to what one writes before it is sent: commands, files, history, drafts, the editor. No widgets."""
