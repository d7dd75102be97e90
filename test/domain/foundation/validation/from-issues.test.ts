import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { fromIssues } from '#domain/foundation/validation/from-issues.ts';
import { namingKnownFields } from '#domain/foundation/validation/unknown-field.ts';

/** The refusal of `input`. */
function refusal(schema: z.ZodType, input: unknown) {
  const { error } = schema.safeParse(input);
  const { message, detail } = fromIssues(error?.issues ?? [], 'body', input);
  return { message, errors: detail.errors ?? [] };
}

const names = z.array(z.string()).max(2);

describe('a union of kinds', () => {
  const schema = z.strictObject({
    tools: z.union([names, z.strictObject({ names: names.optional() })]).optional(),
    text: z.union([z.string().min(1).max(2), z.array(z.string())]).optional(),
    id: z.union([z.uuid(), z.array(z.string())]).optional(),
    count: z.union([z.number().min(3), z.array(z.string())]).optional(),
    word: z.union([z.string().refine((sent) => sent === 'a', 'must be the word a'), z.null()]).optional(),
    mode: z.union([z.enum(['auto', 'none']), z.strictObject({ type: z.literal('mcp') })]).optional(),
  });

  it.each([
    [{ tools: ['a', 'b', 'c'] }, '`tools` must have at most 2 entries; 3 were sent.'],
    [{ text: 'abc' }, '`text` must have at most 2 characters; 3 were sent.'],
    [{ id: 'x' }, '`id` must be a UUID.'],
    [{ count: 1 }, '`count` must be at least 3; 1 was sent.'],
    [{ word: 'b' }, '`word` must be the word a.'],
  ])('is refused by the limit of the kind that was sent: %j', (input, message) => {
    expect(refusal(schema, input).message).toBe(message);
  });

  it.each([
    [{ tools: 'a' }, '`tools` must be a list or an object.'],
    [{ mode: 'all' }, '`mode` must be auto or none or an object.'],
  ])('is refused with all kinds and values where none of them was sent: %j', (input, message) => {
    expect(refusal(schema, input).message).toBe(message);
  });
});

describe('a value of another size', () => {
  const schema = z.strictObject({
    name: z.string().trim().min(1).optional(),
    ids: z.array(z.string()).min(1).optional(),
    count: z.int().optional(),
  });

  it.each([
    [{ name: '' }, '`name` must not be empty.'],
    [{ name: ' \t ' }, '`name` must not be blank.'],
    [{ ids: [] }, '`ids` must not be empty.'],
    [{ count: 1.5 }, '`count` must be a whole number; 1.5 was sent.'],
  ])('is refused in words that are true of it: %j', (input, message) => {
    expect(refusal(schema, input).message).toBe(message);
  });
});

describe('a list of known values', () => {
  const values = Array.from({ length: 20 }, (_, n) => `value_${n}`) as [string, ...string[]];
  const shown = values.slice(0, 16).join(', ');

  it('that is long is cut, and says so', () => {
    expect(refusal(z.strictObject({ kind: z.enum(values) }), { kind: 'other' }).message).toBe(
      `\`kind\` must be one of ${shown} and others; other was sent.`,
    );
  });

  it('that is long is cut also where it is of several kinds', () => {
    const kind = z.union([z.enum(values), z.array(z.string())]);
    expect(refusal(z.strictObject({ kind }), { kind: 1 }).message).toBe(
      `\`kind\` must be ${values.slice(0, 16).join(' or ')} or others or a list; 1 was sent.`,
    );
  });
});

describe('a key that the caller chose', () => {
  const schema = z.strictObject({ metadata: z.record(z.string().max(64), z.string().max(8)) });

  it.each([
    ['at which a value is wrong', { metadata: { ['/'.repeat(5_000)]: 1 } }],
    ['that is too long', { metadata: { ['k'.repeat(5_000)]: 'v' } }],
    ['that is not known', { metadata: {}, ['😀'.repeat(5_000)]: 1 }],
  ])('%s is not repeated at its full length', (_, input) => {
    const { errors } = refusal(schema, input);
    expect(errors).not.toEqual([]);
    for (const { pointer, message } of errors) {
      expect(pointer.length).toBeLessThan(250);
      expect(message.length).toBeLessThan(250);
      expect(pointer.isWellFormed()).toBe(true);
    }
  });

  it('is repeated where it is short', () => {
    expect(refusal(schema, { metadata: { 'a/b': 1 } }).errors).toMatchObject([{ pointer: '/metadata/a~1b' }]);
  });
});

describe('an unknown field', () => {
  const schema = z.strictObject({
    max_output_tokens: z.number().optional(),
    instructions: z.string().optional(),
    ab: z.string().optional(),
  });
  const messageOf = (known: z.ZodObject, input: object) => {
    const { error } = known.safeParse(input, { error: namingKnownFields });
    return fromIssues(error?.issues ?? [], 'body', input).message;
  };

  it.each([
    [{ max_output_token: 1 }, '`max_output_token` is not known; max_output_tokens is.'],
    [{ maxOutputTokens: 1 }, '`maxOutputTokens` is not known; max_output_tokens is.'],
    [{ instrutcions: 'x' }, '`instrutcions` is not known; instructions is.'],
    [{ instructioms: 'x' }, '`instructioms` is not known; instructions is.'],
    [{ colour: 'red' }, '`colour` is not known; known are max_output_tokens, instructions, ab.'],
    [{ c: 'red' }, '`c` is not known; known are max_output_tokens, instructions, ab.'],
    [
      { ['i'.repeat(200_000)]: 1 },
      `\`${'i'.repeat(100)}\` is not known; known are max_output_tokens, instructions, ab.`,
    ],
  ])('is refused with the field that was meant, or with the known ones', (input, message) => {
    expect(messageOf(schema, input)).toBe(message);
  });

  it('is refused with sixteen of many known ones, and where there are none', () => {
    const many = Object.fromEntries(
      Array.from({ length: 20 }, (_, n) => [`field_${n}`, z.string().optional()]),
    );
    expect(messageOf(z.strictObject(many), { colour: 1 })).toBe(
      `\`colour\` is not known; known are ${Object.keys(many).slice(0, 16).join(', ')} and others.`,
    );
    expect(messageOf(z.strictObject({}), { colour: 1 })).toBe('`colour` is not known; no field is.');
  });
});
