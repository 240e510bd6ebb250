"""The lab: everything that trains, measures and shows. Needs the extra ``lab``."""
