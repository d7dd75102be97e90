/** Makes a `switch` over a union exhaustive: a new member does not compile, and an unknown value throws. */
export function assertNever(value: never): never {
  throw new Error(`Unexpected value ${JSON.stringify(value)}`);
}
