import { spawn, type ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { request as forward, type IncomingMessage, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { claimPort } from '../free-port.ts';
import { startRestartable } from './restartable-server.ts';
import type { SourceServer } from './source-server.ts';

const programs = { apache2: '/usr/sbin/apache2', rclone: '/usr/bin/rclone' };
export type WebdavKind = keyof typeof programs;
const modules = 'mpm_event authn_core authn_file authz_core authz_user auth_basic alias mime dav dav_fs';
const username = 'reader';

/** Why a server cannot run here; null: it can. */
export function withoutWebdav(kind: WebdavKind): string | null {
  return existsSync(programs[kind]) ? null : `The Debian package ${kind} is needed for this test.`;
}

export interface WebdavServer extends SourceServer {
  /** Also removes folders. */
  remove(name: string): Promise<void>;
  /** Where a file is on this machine. */
  pathOf(name: string): string;
  /** Answers in place of the server where it returns true. */
  intercept: ((request: IncomingMessage, response: ServerResponse) => boolean) | null;
}

/** Apache with mod_dav, or rclone, behind node:http, which counts requests. */
export async function startWebdavServer(
  kind: WebdavKind = 'apache2',
  { secured = false } = {},
): Promise<WebdavServer> {
  const root = await mkdtemp(join(tmpdir(), 'webdav-source-'));
  // Apache's workers have a user of their own.
  await chmod(root, 0o755);
  const folder = join(root, 'files');
  await mkdir(folder);
  const inner = await claimPort();
  let [password, requests] = ['secret-1', 0];
  const setPassword = () =>
    writeFile(
      join(root, 'users'),
      `${username}:{SHA}${createHash('sha1').update(password).digest('base64')}\n`,
    );
  await setPassword();
  await writeFile(join(root, 'conf'), apacheConfig(root, inner, secured));
  const args =
    kind === 'apache2'
      ? ['-f', join(root, 'conf'), '-DFOREGROUND']
      : ['serve', 'webdav', folder, '--addr', `127.0.0.1:${inner}`];
  const child = spawn(programs[kind], args, { stdio: 'ignore', env: { HOME: root } });
  await answering(child, inner);
  const { origin, start, stop } = await startRestartable((request, response) => {
    requests += 1;
    if (self.intercept?.(request, response) === true) return;
    const { url, method, headers } = request;
    const onward = forward({ port: inner, path: url, method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    });
    onward.on('error', () => response.destroy());
    response.on('close', () => onward.destroy());
    request.pipe(onward);
  });
  const self: WebdavServer = {
    slug: 'webdav',
    scopeConfig: { base_url: kind === 'apache2' ? `${origin}/remote/dav` : origin },
    credential: secured ? { origin, value: { kind: 'basic', username, password } } : null,
    allowedOrigins: [origin],
    roots: {},
    intercept: null,
    pathOf: (name) => join(folder, name),
    ...(kind === 'apache2' ? besides(folder) : through(inner)),
    renewCredential: async () => {
      password = `secret-${Number(password.slice(7)) + 1}`;
      await setPassword();
      return { kind: 'basic', username, password };
    },
    requests: () => requests,
    stop,
    start,
    close: async () => {
      await stop();
      child.kill('SIGTERM');
      if (child.exitCode === null) await new Promise((done) => void child.once('exit', done));
      await rm(root, { recursive: true, force: true });
    },
  };
  return self;
}

type Writes = Pick<WebdavServer, 'put' | 'move' | 'remove'>;

function besides(folder: string): Writes {
  const place = async (name: string) => {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    return join(folder, name);
  };
  return {
    put: async (name, content) => writeFile(await place(name), content),
    move: async (from, to) => rename(join(folder, from), await place(to)),
    remove: (name) => rm(join(folder, name), { recursive: true }),
  };
}

/** Rclone keeps what it knows of folders for minutes, unless it makes the change. */
function through(port: number): Writes {
  const known = new Set<string>();
  const address = (name: string) =>
    `http://127.0.0.1:${port}/${name.split('/').map(encodeURIComponent).join('/')}`;
  const send = async (method: string, name: string, init: RequestInit = {}) => {
    const { status } = await fetch(address(name), { method, ...init });
    if (status >= 300 && method !== 'MKCOL') throw new Error(`${method} ${name} is answered with ${status}.`);
  };
  const place = async (name: string) => {
    for (let at = name.indexOf('/'); at !== -1; at = name.indexOf('/', at + 1)) {
      const folder = name.slice(0, at);
      if (!known.has(folder)) await send('MKCOL', folder);
      known.add(folder);
    }
  };
  return {
    put: async (name, content) => {
      await place(name);
      await send('PUT', name, { body: Buffer.from(content as string) });
    },
    move: async (from, to) => {
      await place(to);
      known.clear();
      await send('MOVE', from, { headers: { destination: address(to) } });
    },
    remove: async (name) => {
      known.clear();
      await send('DELETE', name);
    },
  };
}

async function answering(child: ChildProcess, port: number): Promise<void> {
  for (let tries = 0; tries < 200 && child.exitCode === null; tries += 1) {
    const answered = await fetch(`http://127.0.0.1:${port}/`, { signal: AbortSignal.timeout(2_000) }).then(
      () => true,
      () => false,
    );
    if (answered) return;
    await new Promise((done) => void setTimeout(done, 50));
  }
  throw new Error('The WebDAV server does not start.');
}

function apacheConfig(root: string, port: number, secured: boolean): string {
  const [authentication, permission] = secured
    ? [`AuthType Basic\nAuthName dav\nAuthUserFile ${root}/users`, 'valid-user']
    : ['', 'all granted'];
  return `ServerRoot ${root}
ServerName localhost
PidFile ${root}/pid
ErrorLog ${root}/log
Mutex pthread
Listen 127.0.0.1:${port}
${modules
  .split(' ')
  .map((name) => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so`)
  .join('\n')}
User www-data
Group www-data
StartServers 1
ServerLimit 2
ThreadsPerChild 16
MinSpareThreads 1
MaxSpareThreads 32
MaxRequestWorkers 32
TypesConfig /etc/mime.types
DavLockDB ${root}/locks
DocumentRoot ${root}
Alias /remote/dav ${root}/files
<Directory ${root}/files>
Dav On
Options FollowSymLinks
${authentication}
Require ${permission}
</Directory>
`;
}
