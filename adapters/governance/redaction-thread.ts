import type { KeyObject } from 'node:crypto';
import {
  redactTexts,
  type RedactionOutcome,
  type RedactionTask,
} from '#domain/governance/redaction/redact-texts.ts';
import { macUnder } from '#domain/foundation/kernel/secrets.ts';

export interface ThreadTask {
  /** Key for tokens only. */
  key: KeyObject;
  task: RedactionTask;
}

/** Redacts the texts of one task, in a thread. */
export default function redact({ key, task }: ThreadTask): RedactionOutcome {
  return redactTexts({ mac: (_purpose, text) => macUnder(key, text) }, task);
}
