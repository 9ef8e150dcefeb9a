"""READS: what is known of leagues, and what of it who may see."""
