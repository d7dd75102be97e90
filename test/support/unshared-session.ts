import { randomUUID } from 'node:crypto';
import type { SharedSession } from '#domain/capabilities/tools/tool-server.ts';

/** For a call with an unshared session. */
export function unsharedSession(): SharedSession {
  return { name: randomUUID(), read: () => Promise.resolve(null), save: () => Promise.resolve() };
}
