import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { ImapFlow } from 'imapflow';
import { vi } from 'vitest';
import { claimPort } from '../free-port.ts';
import { startPostgresRelay } from '../postgres-relay.ts';
import type { SourceServer } from './source-server.ts';
import type { TestCertificate } from './test-certificate.ts';

const program = '/usr/sbin/dovecot';

/** Debian's `dovecot-imapd`, for the tests that need a mail server. */
export const hasDovecot = (): boolean => existsSync(program);

export interface ImapServer extends SourceServer {
  /** Ports of the server itself: plain with STARTTLS, and encrypted; only with a certificate. */
  ports: { plain: number; tls: number };
  append(mailbox: string, message: string | Buffer, arrival?: Date): Promise<number>;
  /** As a mail program of the user would. */
  command<T>(work: (client: ImapFlow) => Promise<T>): Promise<T>;
  /** The server numbers the messages of the mailbox again. */
  renumber(mailbox: string): Promise<void>;
  /** Of all connections through the relay. */
  bytesSent(): number;
  renewCredential(): Promise<{ kind: 'basic'; username: string; password: string }>;
}

/** A mail server with one user, without privileges, behind a relay. Names become subjects of messages. */
export async function startImapServer({
  certificate = null,
  withoutResync = false,
}: {
  certificate?: TestCertificate | null;
  /** Neither CONDSTORE nor QRESYNC, as many servers. */
  withoutResync?: boolean;
} = {}): Promise<ImapServer> {
  const folder = mkdtempSync(join(tmpdir(), 'imap-'));
  const ports = { plain: await claimPort(), tls: await claimPort() };
  const user = 'reader@example.org';
  let password = randomBytes(12).toString('hex');
  const account = unprivileged();
  const saveUser = () => writeFileSync(join(folder, 'users'), `${user}:{PLAIN}${password}\n`);
  writeFileSync(
    join(folder, 'dovecot.conf'),
    configuration(folder, { ports, account, certificate, withoutResync }),
  );
  saveUser();
  for (const each of ['run', 'mail', 'home']) mkdirSync(join(folder, each));
  if (certificate !== null) {
    writeFileSync(join(folder, 'key.pem'), certificate.key);
    writeFileSync(join(folder, 'certificate.pem'), certificate.certificate);
  }
  chmodSync(folder, 0o755);
  if (process.getuid?.() === 0) {
    execFileSync('chown', ['-R', `${account.uid}:${account.gid}`, folder]);
    chownSync(folder, account.uid, account.gid);
  }
  const child = await run(folder, ports.plain, account);
  let [requests, bytesSent] = [0, 0];
  const relay = await startPostgresRelay(`postgres://127.0.0.1:${ports.plain}`, {
    fromClient: (to) => (chunk) => {
      requests += 1;
      to.write(chunk);
    },
    fromServer: (to) => (chunk) => {
      bytesSent += chunk.byteLength;
      to.write(chunk);
    },
  });
  const port = Number(new URL(relay.url).port);
  const origin = `imap://127.0.0.1:${port}`;

  const command = async <T>(work: (client: ImapFlow) => Promise<T>): Promise<T> => {
    const auth = { user, pass: password };
    const client = new ImapFlow({
      host: '127.0.0.1',
      port: ports.plain,
      secure: false,
      doSTARTTLS: false,
      auth,
      logger: false,
      disableAutoIdle: true,
    });
    client.on('error', () => {});
    await client.connect();
    try {
      return await work(client);
    } finally {
      await client.logout();
    }
  };
  const append = (mailbox: string, message: string | Buffer, arrival = new Date()) =>
    command(async (client) => {
      const appended = await client.append(mailbox, Buffer.from(message), [], arrival);
      return (appended && appended.uid) || 0;
    });
  const uids = new Map<string, number>();
  const contents = new Map<string, string | Uint8Array>();
  const remove = async (name: string) => {
    const uid = uids.get(name);
    uids.delete(name);
    if (uid !== undefined) {
      await command(async (client) => {
        await client.mailboxOpen('INBOX');
        await client.messageDelete(String(uid), { uid: true });
      });
    }
  };
  const put = async (name: string, content: string | Uint8Array) => {
    await remove(name);
    contents.set(name, content);
    uids.set(name, await append('INBOX', messageOf(name, content)));
  };
  return {
    slug: 'imap',
    scopeConfig: { host: '127.0.0.1', port, tls: 'off' },
    credential: { origin, value: { kind: 'basic', username: user, password } },
    allowedOrigins: [origin],
    roots: {},
    ports,
    command,
    append,
    put,
    move: async (from, to) => {
      await put(to, contents.get(from) ?? '');
      await remove(from);
    },
    remove,
    renumber: async (mailbox) => {
      await command(async (client) => {
        await client.mailboxRename(mailbox, `${mailbox} before`);
        await client.mailboxCreate(mailbox);
        const messages: Buffer[] = [];
        await client.mailboxOpen(`${mailbox} before`);
        for await (const { source } of client.fetch('1:*', { source: true })) {
          if (source !== undefined) messages.push(source);
        }
        for (const message of messages) await client.append(mailbox, message);
        await client.mailboxClose();
        await client.mailboxDelete(`${mailbox} before`);
      });
    },
    renewCredential: async () => {
      password = randomBytes(12).toString('hex');
      saveUser();
      // It looks at the file's time, in seconds, at times of its own; this makes it read the file.
      child.kill('SIGHUP');
      await vi.waitFor(() => command((client) => client.noop()), { timeout: 10_000, interval: 100 });
      relay.sever();
      relay.mend();
      return { kind: 'basic', username: user, password };
    },
    requests: () => requests,
    bytesSent: () => bytesSent,
    stop: async () => relay.sever(),
    start: async () => relay.mend(),
    close: async () => {
      await relay.close();
      child.kill('SIGTERM');
      await once(child, 'exit');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A message with this subject and this text. */
export function messageOf(subject: string, content: string | Uint8Array): Buffer {
  // Words of at most 75 characters, each of whole characters.
  const encoded = (subject.match(/.{1,10}/gsu) ?? [])
    .map((word) => `=?utf-8?B?${Buffer.from(word).toString('base64')}?=`)
    .join('\r\n ');
  const text = Buffer.from(content).toString('base64').replace(/.{76}/g, '$&\r\n');
  return Buffer.from(
    [
      'From: writer@example.org',
      'To: reader@example.org',
      `Subject: ${encoded}`,
      'MIME-Version: 1.0',
      'Content-Type: text/plain; charset=utf-8',
      'Content-Transfer-Encoding: base64',
      '',
      text,
      '',
    ].join('\r\n'),
  );
}

interface Account {
  name: string;
  group: string;
  uid: number;
  gid: number;
}

/** The server refuses to read mail as root. */
function unprivileged(): Account {
  const { uid, gid, username } = userInfo();
  if (uid === 0) {
    const [id, group] = ['-u', '-g'].map((option) => Number(execFileSync('id', [option, 'nobody'])));
    return { name: 'nobody', group: 'nogroup', uid: id ?? 0, gid: group ?? 0 };
  }
  return { name: username, group: execFileSync('id', ['-gn']).toString().trim(), uid, gid };
}

interface Configuration {
  ports: ImapServer['ports'];
  account: Account;
  certificate: TestCertificate | null;
  withoutResync: boolean;
}

function configuration(
  folder: string,
  { ports, account: { name, group, uid, gid }, certificate, withoutResync }: Configuration,
): string {
  const tls =
    certificate === null
      ? 'ssl = no'
      : `ssl = yes\nssl_cert = <${folder}/certificate.pem\nssl_key = <${folder}/key.pem\nssl_dh =`;
  return `
protocols = imap
base_dir = ${folder}/run
state_dir = ${folder}/run
log_path = ${folder}/log
listen = 127.0.0.1
${tls}
disable_plaintext_auth = no
auth_failure_delay = 0
default_internal_user = ${name}
default_internal_group = ${group}
default_login_user = ${name}
first_valid_uid = 1
first_valid_gid = 1
mail_location = maildir:${folder}/mail/%u:LAYOUT=fs
mail_plugins =
${withoutResync ? 'imap_capability = IMAP4rev1 UIDPLUS ENABLE' : ''}
namespace inbox {
  inbox = yes
  separator = /
}
passdb {
  driver = passwd-file
  args = ${folder}/users
}
userdb {
  driver = static
  args = uid=${uid} gid=${gid} home=${folder}/home/%u
}
service anvil {
  chroot =
  unix_listener anvil-auth-penalty {
    mode = 0
  }
}
service stats {
  chroot =
}
service imap-login {
  chroot =
  inet_listener imap {
    port = ${ports.plain}
  }
  inet_listener imaps {
    port = ${certificate === null ? 0 : ports.tls}
    ssl = ${certificate === null ? 'no' : 'yes'}
  }
}
`;
}

async function run(folder: string, port: number, { uid, gid }: Account): Promise<ChildProcess> {
  const options = process.getuid?.() === 0 ? { uid, gid } : {};
  const child = spawn(program, ['-F', '-c', join(folder, 'dovecot.conf')], {
    stdio: ['ignore', 'pipe', 'pipe'],
    ...options,
  });
  let said = '';
  child.stderr?.on('data', (chunk: Buffer) => (said += chunk.toString()));
  child.stdout?.resume();
  const until = Date.now() + 20_000;
  while (!(await accepts(port))) {
    if (Date.now() > until || child.exitCode !== null) {
      throw new Error(`The mail server does not start: ${said}`);
    }
    await new Promise((done) => setTimeout(done, 50));
  }
  return child;
}

function accepts(port: number): Promise<boolean> {
  return new Promise((done) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('data', () => {
      socket.destroy();
      done(true);
    });
    socket.once('error', () => done(false));
    socket.setTimeout(1_000, () => {
      socket.destroy();
      done(false);
    });
  });
}
