/** Closes a `switch` over a union: a new member does not compile, and a foreign value does not pass. */
export function assertNever(value: never): never {
  throw new Error(`Unexpected value ${JSON.stringify(value)}`);
}
