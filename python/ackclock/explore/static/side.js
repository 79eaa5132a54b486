// How both sides of the page refuse.

// It did not do what was asked, and the message says why; a mistake is one of the user's.
export class Failure extends Error {}
export class Mistake extends Failure {}
