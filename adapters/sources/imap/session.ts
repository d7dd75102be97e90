import { ImapFlow } from 'imapflow';
import type { CredentialValue } from '#domain/capabilities/credentials/credential-value.ts';
import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import type { SourceAccess } from '../provider.ts';
import { dialServer } from '../shared/dial-server.ts';
import { oneAtATime } from '../shared/one-at-a-time.ts';
import { bareHost } from '../shared/server-address.ts';
import { ChangesExceedLimits, exceedsLimits, imapFailure, limitFailure } from './imap-failure.ts';
import type { ImapScope } from './scope.ts';
import { readSets, uidsOf } from './uid-sets.ts';

const MiB = 1_048_576;
const commandMs = 60_000;
/** As much as an answer over HTTP may have. */
const maxMessageBytes = 104 * MiB;
const answerBytes = 16 * MiB;
/** Of an answer without content: each untagged line costs the client much more than its bytes. */
const answerLines = 50_000;
/** With more deletions a listing of everything is shorter. */
export const maxVanished = 10_000;
/** UIDs of the answers to a search. */
const maxFound = 1_000_000;

export interface ImapAccess {
  connect: SourceAccess['connect'];
  credential: Extract<CredentialValue, { kind: 'basic' }>;
}

export interface Session {
  client: ImapFlow;
  /** UIDs that the server says to be deleted, since the caller has last emptied the list. */
  vanished: number[];
  /** UIDs that a search has found, since the caller has last emptied the list. */
  found: number[];
  /** Whether structures of messages are asked for. */
  hasStructures: boolean;
  /** Lets the next answer have as many bytes as those until now. */
  beginAnswer: () => void;
  /** Whether the connection was ended since an answer exceeded its limits. */
  isCut: () => boolean;
}

export interface Sessions {
  /**
   * Runs on one connection, which is made when it is needed, and again after a failure.
   * @param contentBytes that answers may have in addition
   */
  run<T>(work: (session: Session) => Promise<T>, signal: AbortSignal, contentBytes?: number): Promise<T>;
  close(): Promise<void>;
}

export function createSessions(scope: ImapScope, access: ImapAccess): Sessions {
  let current: LiveSession | null = null;
  const inTurn = oneAtATime();
  const end = () => {
    // The client closes its connection without an error; before there is one, the connection is ended itself.
    if (current?.client) {
      current.client.close();
    } else {
      current?.life.abort();
    }
    current = null;
  };
  return {
    run: (work, signal, contentBytes = 0) =>
      inTurn(async () => {
        signal.throwIfAborted();
        if (current?.client?.usable === false) {
          end();
        }
        const session = (current ??= newSession());
        const limit = AbortSignal.any([
          signal,
          AbortSignal.timeout(commandMs + Math.ceil(contentBytes / 1_000)),
        ]);
        // A connection outlives the signal of the call that makes it.
        limit.addEventListener('abort', end, { once: true });
        try {
          const beginAnswer = () => {
            session.bytesLeft = answerBytes + contentBytes;
            session.linesLeft = contentBytes > 0 ? Infinity : answerLines;
          };
          beginAnswer();
          session.client ??= await connectClient(scope, access, session);
          const result = await work({
            client: session.client,
            vanished: session.vanished,
            found: session.found,
            hasStructures: true,
            beginAnswer,
            isCut: () => session.failure !== null,
          });
          // The end of a command may arrive with the answer that is cut.
          if (session.failure !== null) {
            throw session.failure;
          }
          return result;
        } catch (error) {
          signal.throwIfAborted();
          const isOfChanges = error instanceof ChangesExceedLimits;
          const failure = imapFailure(isOfChanges ? error : (session.failure ?? error), signal);
          // After a refusal that the server has said the connection is as good as before.
          if (!(failure instanceof SourceFailure) || failure.code !== 'scope_invalid') {
            end();
          }
          throw failure;
        } finally {
          limit.removeEventListener('abort', end);
        }
      }),
    close: async () => end(),
  };
}

interface LiveSession {
  client: ImapFlow | null;
  life: AbortController;
  bytesLeft: number;
  linesLeft: number;
  vanished: number[];
  found: number[];
  failure: SourceFailure | null;
}

const newSession = (): LiveSession => ({
  client: null,
  life: new AbortController(),
  bytesLeft: answerBytes,
  linesLeft: answerLines,
  vanished: [],
  found: [],
  failure: null,
});

async function connectClient(scope: ImapScope, access: ImapAccess, session: LiveSession): Promise<ImapFlow> {
  const client = new ImapFlow({
    ...(await dial(scope, access, session.life.signal)),
    auth: { user: access.credential.username, pass: access.credential.password },
    logger: false,
    qresync: true,
    disableAutoIdle: true,
    disableCompression: true,
    connectionTimeout: 10_000,
    greetingTimeout: 10_000,
    socketTimeout: 60_000,
    maxLineLength: answerBytes,
    maxLiteralSize: maxMessageBytes,
    maxResponseSize: maxMessageBytes + MiB,
  });
  const cut = () => {
    session.failure ??= limitFailure();
    client.close();
  };
  const add = (list: number[], set: string, most: number) => {
    for (const uid of list.length > most ? [] : uidsOf(set, most - list.length)) list.push(uid);
    return list.length <= most;
  };
  readSets(client, {
    vanished: (set) => add(session.vanished, set, maxVanished),
    found: (set) => add(session.found, set, maxFound) || cut(),
    tooLarge: cut,
  });
  client.on('error', (error: unknown) => {
    if (exceedsLimits(error)) {
      session.failure ??= limitFailure();
    }
  });
  session.client = client;
  ignoreErrors(client);
  try {
    const connected = client.connect();
    ignoreErrors(client);
    await connected;
  } catch (error) {
    session.client = null;
    client.close();
    throw error;
  }
  ignoreErrors(client);
  socketOf(client)?.on('data', (bytes: Buffer) => {
    session.bytesLeft -= bytes.byteLength;
    session.linesLeft -= session.linesLeft === Infinity ? 0 : linesOf(bytes);
    if (session.bytesLeft < 0 || session.linesLeft < 0) {
      cut();
    }
  });
  return client;
}

function linesOf(bytes: Buffer): number {
  let lines = 0;
  for (let at = bytes.indexOf(10); at !== -1; at = bytes.indexOf(10, at + 1)) lines += 1;
  return lines;
}

interface Streams {
  /** The decrypted stream. */
  socket?: NodeJS.ReadableStream | false;
  /** Divides it into lines and literals. */
  streamer?: NodeJS.EventEmitter;
}

function socketOf(client: ImapFlow): NodeJS.ReadableStream | null {
  const { socket } = client as unknown as Streams;
  return socket ? socket : null;
}

const ignore = () => {};

/**
 * `close` takes the client's own listeners from its streams: an error that one of them emits afterwards, such as of the
 * line that was read at that moment, would end the process.
 */
function ignoreErrors(client: ImapFlow): void {
  const { streamer } = client as unknown as Streams;
  for (const stream of [streamer, socketOf(client)]) {
    stream?.off('error', ignore).on('error', ignore);
  }
}

/**
 * The client takes a connection only where it is encrypted from the beginning. Otherwise it dials the address that the
 * guard has allowed, so that it resolves no name, and verifies the name of the scope.
 */
async function dial(scope: ImapScope, { connect }: ImapAccess, signal: AbortSignal) {
  const { host, port, tls, tls_certificate } = scope;
  const ca = tls_certificate === null ? {} : { ca: tls_certificate };
  const target = { scheme: schemeOf(scope), host, port, signal };
  const socket = await dialServer(connect, target, tls !== 'off');
  socket.on('error', () => {});
  if (tls === 'implicit') {
    return { host: bareHost(host), port, secure: true, tls: { socket, rejectUnauthorized: true, ...ca } };
  }
  const address = socket.remoteAddress;
  socket.destroy();
  if (address === undefined) {
    // The server has ended the connection. The client must not dial the name: it could mean another address now.
    throw new SourceFailure('source_unreachable', 'The mail server ends the connection.');
  }
  const name = /[a-z]/.test(host) && !host.startsWith('[') ? { servername: host } : {};
  const options = { rejectUnauthorized: true, ...ca };
  return { host: address, port, secure: false, doSTARTTLS: tls === 'starttls', tls: options, ...name };
}

export const schemeOf = ({ tls }: Pick<ImapScope, 'tls'>): string => (tls === 'implicit' ? 'imaps' : 'imap');
