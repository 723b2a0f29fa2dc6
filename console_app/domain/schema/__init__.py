"""JSON Schema, read in one place: its words (`reading`), forms made of it (`fields`), what it says to people (`words`),
and the values it proposes (`defaults`). Who writes a schema for an endpoint knows that endpoint; reading is done here.
"""
