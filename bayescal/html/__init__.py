"""Small pieces of HTML: tables and pictures that need no library, for notebooks."""
