"""The settings as the app shows and changes them: keys, themes, preferences."""
