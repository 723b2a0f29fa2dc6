"""The built-in model that needs no key and no network: rules in place of understanding, and it says so."""
