import { redactTexts, type LongTextRedactor } from '#domain/governance/redaction/redact-texts.ts';
import { secrets } from './world.ts';

/** Redacts long texts in the test's own thread. */
export const longTexts: LongTextRedactor = {
  redact: (_tenantId, task) => Promise.resolve(redactTexts(secrets, task)),
};
