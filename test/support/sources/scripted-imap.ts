import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { imapProvider } from '#adapters/sources/imap/provider.ts';
import type { Source } from '#domain/knowledge/connectors/source.ts';
import { openSource } from './open-source.ts';

const greeting = '* OK [CAPABILITY IMAP4rev1] ready\r\n';
let server: Server | null = null;
let source: Source | null = null;

/** Ends the server and the source of the last call. */
export async function endScriptedImap(): Promise<void> {
  await source?.close?.();
  server?.close();
}

export type ImapAnswer = string | ((socket: Socket, tag: string, line: string) => void) | null;

/** A mail server that answers commands by their name; `null` answers nothing. */
export async function serveImap(
  answers: Record<string, ImapAnswer>,
  scope: Record<string, unknown> = {},
): Promise<Source> {
  const usual = {
    CAPABILITY: '* CAPABILITY IMAP4rev1\r\n',
    LIST: '* LIST () "/" INBOX\r\n',
    EXAMINE: '* 1 EXISTS\r\n* OK [UIDVALIDITY 7] x\r\n* OK [UIDNEXT 2] x\r\n',
    UID: '* SEARCH 1\r\n',
  };
  const all = new Map<string, ImapAnswer>(Object.entries({ ...usual, ...answers }));
  server = createServer((socket) => {
    socket.on('error', () => {});
    const first = all.get('greeting') ?? greeting;
    if (typeof first === 'function') first(socket, '', '');
    else if (answers['greeting'] !== null) socket.write(first);
    socket.on('data', (chunk) => {
      for (const line of chunk.toString().split('\r\n').filter(Boolean)) {
        const [tag = '', command = '', next = ''] = line.split(' ');
        const answer = all.get(command === 'UID' && all.has(`UID ${next}`) ? `UID ${next}` : command);
        if (typeof answer === 'function') answer(socket, tag, line);
        else if (answer !== null) {
          const isEnd = answer !== undefined && /^(NO|BAD)/.test(answer);
          socket.write(isEnd ? `${tag} ${answer}\r\n` : `${answer ?? ''}${tag} OK done\r\n`);
        }
      }
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  source = await openSource(imapProvider, {
    slug: 'imap',
    scopeConfig: { host: '127.0.0.1', port, tls: 'off', ...scope },
    credential: {
      origin: `imap://127.0.0.1:${port}`,
      value: { kind: 'basic', username: 'reader', password: 'canary-password' },
    },
    allowedOrigins: [`imap://127.0.0.1:${port}`],
    roots: {},
  });
  return source;
}
