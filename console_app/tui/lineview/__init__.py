"""The conversation: one Line-API view over plain blocks that paint themselves as strips."""
