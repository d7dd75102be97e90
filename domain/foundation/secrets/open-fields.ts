import { createDecipheriv } from 'node:crypto';
import { associatedData, type FieldPlace, type FieldWork } from './field-place.ts';

export interface SealedField {
  place: FieldPlace;
  sealed: string;
}

/** The text of one sealed field; see `openFields`. */
export async function openField(work: FieldWork, place: FieldPlace, sealed: string): Promise<string | null> {
  const [text = null] = await openFields(work, [{ place, sealed }]);
  return text;
}

/**
 * The texts of sealed fields, in order; null where the key was erased. The keys are read in one statement.
 * @throws when a text was changed, or sealed for another place.
 */
export async function openFields(
  { em, secrets }: FieldWork,
  fields: readonly SealedField[],
): Promise<(string | null)[]> {
  const parsed = fields.map(({ place, sealed }) => {
    const [version, keyId = '', ...parts] = sealed.split('|');
    if (version !== 'v1' || parts.length !== 3) {
      throw new Error('A sealed field is not of the form that this version writes.');
    }
    return { place, keyId, parts: parts.map((part) => Buffer.from(part, 'base64url')) };
  });
  const rows = await em.execute<{ id: string; wrapped: string }[]>(
    `select id, wrapped from data_keys
     where id::text in (select jsonb_array_elements_text(?::jsonb))`,
    [JSON.stringify([...new Set(parsed.map(({ keyId }) => keyId))])],
  );
  const wrapped = new Map(rows.map((row) => [row.id, row.wrapped]));
  return parsed.map(({ place, keyId, parts: [iv, text, tag] }) => {
    const key = wrapped.get(keyId);
    if (key === undefined || iv === undefined || text === undefined || tag === undefined) return null;
    const opened = secrets.openDataKey(`${place.tenantId}|${keyId}`, key);
    const cipher = createDecipheriv('aes-256-gcm', opened, iv, { authTagLength: 16 })
      .setAAD(associatedData(place, keyId))
      .setAuthTag(tag);
    return Buffer.concat([cipher.update(text), cipher.final()]).toString('utf8');
  });
}
