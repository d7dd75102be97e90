import type { Fetched, FetchInput, Source } from '#domain/knowledge/connectors/source.ts';
import { listMessages } from './list-messages.ts';
import { messageVersion, openMailbox, searchUids } from './mailbox.ts';
import { readRef, type MessageRef } from './message-ref.ts';
import type { ImapScope } from './scope.ts';
import { createSessions, type ImapAccess, type Session } from './session.ts';

export function imapSource(scope: ImapScope, access: ImapAccess): Source {
  const sessions = createSessions(scope, access);
  return {
    check: (signal) =>
      sessions.run(async (session) => {
        for (const path of scope.mailboxes) await openMailbox(session, path);
      }, signal),
    list: (input, signal) => sessions.run((session) => listMessages(session, scope, input), signal),
    fetch: async (input, signal) => {
      const message = inScope(input.ref, scope);
      return message === null
        ? { kind: 'gone' }
        : sessions.run((session) => fetchMessage(session, message, input), signal, input.maxBytes);
    },
    exists: async (ref, signal) => {
      const message = inScope(ref, scope);
      return (
        message !== null &&
        (await sessions.run(async (session) => {
          const { path, validity, uid } = message;
          const isSame = (await openMailbox(session, path)) === validity;
          const range = { from: uid, to: uid + 1, since: null };
          return isSame && (await searchUids(session, range)).length > 0;
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

async function fetchMessage(
  session: Session,
  { path, validity, uid }: MessageRef,
  { version, maxBytes }: FetchInput,
): Promise<Fetched> {
  if ((await openMailbox(session, path)) !== validity) {
    return { kind: 'gone' };
  }
  const { client } = session;
  const head = await client.fetchOne(String(uid), { uid: true, size: true }, { uid: true });
  if (!head || head.uid !== uid) {
    return { kind: 'gone' };
  }
  if (version === messageVersion) {
    return { kind: 'unchanged' };
  }
  if ((head.size ?? 0) > maxBytes) {
    return { kind: 'skipped', code: 'too_large' };
  }
  // One byte more shows a message that is longer than the server says.
  const source = { start: 0, maxLength: maxBytes + 1 };
  const message = await client.fetchOne(String(uid), { uid: true, source }, { uid: true });
  if (!message || message.source === undefined) {
    return { kind: 'gone' };
  }
  return message.source.byteLength > maxBytes
    ? { kind: 'skipped', code: 'too_large' }
    : { kind: 'content', content: message.source, mediaType: 'message/rfc822', version: messageVersion };
}
