-- It has no status that could tell more.
return { status = "Healthy", message = "applied" }
