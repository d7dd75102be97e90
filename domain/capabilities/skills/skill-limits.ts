import { cleanText } from '#domain/foundation/kernel/clean-text.ts';
import { invalid } from '#domain/foundation/kernel/errors.ts';

/** Characters, and entries of `allowedTools`. */
export const skillLimits = {
  name: 100,
  description: 2_000,
  instructions: 100_000,
  notes: 2_000,
  allowedTools: 200,
};

/** @throws `invalid_request` */
export function requireSkillText(field: 'name' | 'instructions', text: string): string {
  const clean = field === 'name' ? cleanText(text).trim() : cleanText(text);
  if (clean.trim() === '' || clean.length > skillLimits[field]) {
    throw invalid(field, `${field} must have 1 to ${skillLimits[field]} characters.`);
  }
  return clean;
}

/** Null for a blank text. @throws `invalid_request` */
export function optionalSkillText(field: 'description' | 'notes', text: string | null): string | null {
  const clean = cleanText(text ?? '').trim();
  if (clean.length > skillLimits[field]) {
    throw invalid(field, `${field} must have at most ${skillLimits[field]} characters.`);
  }
  return clean === '' ? null : clean;
}
