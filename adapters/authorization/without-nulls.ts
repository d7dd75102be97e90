/**
 * The text of a JSON object without the members that are null: some servers write what they have no value for that way,
 * and the client packages refuse it. Other texts stay as they are.
 */
export function withoutNulls(text: string): string {
  if (!text.includes('null')) {
    return text;
  }
  try {
    const value: unknown = JSON.parse(text, (_name, member: unknown) => member ?? undefined);
    return JSON.stringify(value) ?? text;
  } catch {
    return text;
  }
}
