"""The formats that calibrators are exported to, one file each."""
