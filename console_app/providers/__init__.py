"""Models behind APIs: each turns its wire format into chunks. The openai and anthropic SDKs stop here."""
