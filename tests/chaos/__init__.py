"""Leagues that are played while everything that plays them is killed, stopped, delayed and cut off (docs/chaos.md)."""
