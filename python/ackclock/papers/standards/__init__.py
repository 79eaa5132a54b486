"""What RFCs and BBR's authors say of the same algorithms and queues, judged as the papers are."""

TITLE = "Standards: what RFCs and BBR's authors say of the same algorithms"
