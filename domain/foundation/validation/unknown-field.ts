import { z } from 'zod';

/** Of one list that a message names. */
export const maxValues = 16;
export const unknownField = 'is not known';

/** Longer names are compared with none: they are of no field. */
const maxLength = 60;

/** For a schema of what people write: the refusal of an unknown field names the field that was meant, or those known. */
export const namingKnownFields: z.core.$ZodErrorMap = (issue) =>
  issue.code === 'unrecognized_keys' && issue.inst instanceof z.ZodObject
    ? unknownOf(Object.keys(issue.inst.shape), issue.keys[0])
    : undefined;

/** The name that was sent is not repeated: it may be a secret. */
function unknownOf(known: readonly string[], sent = ''): string {
  const meant = sent.length > maxLength ? undefined : known.find((name) => isAlmost(sent, name));
  if (meant !== undefined) {
    return `${unknownField}; ${meant} is`;
  }
  const others = known.length > maxValues ? ' and others' : '';
  return known.length === 0
    ? `${unknownField}; no field is`
    : `${unknownField}; known are ${known.slice(0, maxValues).join(', ')}${others}`;
}

/** Whether two names differ by one edit, beside case and separators. Takes time in proportion to their length. */
function isAlmost(sent: string, name: string): boolean {
  const [a, b] = [plain(sent), plain(name)];
  const shorter = Math.min(a.length, b.length);
  if (Math.abs(a.length - b.length) > 1 || shorter < 2) {
    return false;
  }
  let begin = 0;
  while (begin < shorter && a[begin] === b[begin]) {
    begin += 1;
  }
  let end = 0;
  while (end < shorter - begin && a.at(-1 - end) === b.at(-1 - end)) {
    end += 1;
  }
  const [left, right] = [a.slice(begin, a.length - end), b.slice(begin, b.length - end)];
  return (left.length <= 1 && right.length <= 1) || (left.length === 2 && right === `${left[1]}${left[0]}`);
}

const plain = (name: string): string => name.toLowerCase().replaceAll(/[_-]/g, '');
