import { SourceFailure, type ListInput, type Source } from '#domain/knowledge/connectors/source.ts';
import { encodedLimit } from './decode-part.ts';
import { fetchMessage, hasAttachment } from './fetch-message.ts';
import { ChangesExceedLimits } from './imap-failure.ts';
import { listMessages } from './list-messages.ts';
import { firstDay } from './listing-state.ts';
import { openMailbox, searchUids } from './mailbox.ts';
import { readRef, type MessageRef } from './message-ref.ts';
import type { ImapScope } from './scope.ts';
import { createSessions, type ImapAccess } from './session.ts';

export function imapSource(scope: ImapScope, access: ImapAccess): Source {
  const sessions = createSessions(scope, access);
  /** Again without structures where an answer exceeds its limits: who sends a message decides how long its structure is. */
  const bearably = async <T>(work: (hasStructures: boolean) => Promise<T>): Promise<T> => {
    try {
      return await work(true);
    } catch (error) {
      const isLimit = error instanceof SourceFailure && error.code === 'source_invalid';
      if (isLimit && !(error instanceof ChangesExceedLimits)) return work(false);
      throw error;
    }
  };
  const list = (input: ListInput, signal: AbortSignal) =>
    bearably((hasStructures) =>
      sessions.run((session) => listMessages({ ...session, hasStructures }, scope, input), signal),
    );
  return {
    check: (signal) =>
      sessions.run(async (session) => {
        for (const path of scope.mailboxes) await openMailbox(session, path);
      }, signal),
    list: async (input, signal) => {
      try {
        return await list(input, signal);
      } catch (error) {
        if (!(error instanceof ChangesExceedLimits)) throw error;
        return list({ ...input, checkpoint: null }, signal);
      }
    },
    fetch: async (input, signal) => {
      const message = inScope(input.ref, scope);
      const bytes = encodedLimit('base64', input.maxBytes);
      if (message === null) {
        return { kind: 'gone' };
      }
      const fetchOnce = (hasStructures: boolean) =>
        sessions.run((session) => fetchMessage({ ...session, hasStructures }, message, input), signal, bytes);
      return message.section === null ? bearably(fetchOnce) : fetchOnce(true);
    },
    exists: async (ref, signal) => {
      const message = inScope(ref, scope);
      return (
        message !== null &&
        (await sessions.run(async (session) => {
          const { path, validity, uid, section } = message;
          const isSame = (await openMailbox(session, path)) === validity;
          const range = { from: uid, to: uid + 1, since: firstDay(scope.since_days) };
          return (
            isSame &&
            (await searchUids(session, range)).length > 0 &&
            (section === null || (await hasAttachment(session, uid, section)))
          );
        }, signal))
      );
    },
    close: () => sessions.close(),
  };
}

function inScope(ref: string, { mailboxes }: ImapScope): MessageRef | null {
  const message = readRef(ref);
  return message !== null && mailboxes.includes(message.path) ? message : null;
}
