"""READS: what is known of leagues, and which part of it each audience may see."""
