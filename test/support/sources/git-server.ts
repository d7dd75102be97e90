import { execFile, spawn } from 'node:child_process';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { startRestartable } from './restartable-server.ts';
import type { SourceServer } from './source-server.ts';

const run = promisify(execFile);
const username = 'reader';

export interface GitServerOptions {
  /** Whether it asks for a credential. */
  secured?: boolean;
  /** Whether it can leave out the contents of files. */
  filters?: boolean;
  format?: 'sha1' | 'sha256';
}

export interface GitServer extends SourceServer {
  url: string;
  /** Runs git in the repository, after what is pending was committed. */
  git(...args: string[]): Promise<string>;
  /** Also removes folders. */
  remove(name: string): Promise<void>;
  /** A tree of entries in the form of `git ls-tree -z`, as bytes. */
  treeOf(entries: Uint8Array): Promise<string>;
  /** Answers in place of git where it returns true. */
  intercept: ((request: IncomingMessage, response: ServerResponse) => boolean) | null;
}

/** Git's own server for http behind node:http. What is put is committed by the next request. */
export async function startGitServer(options: GitServerOptions = {}): Promise<GitServer> {
  const { secured = false, filters = true, format = 'sha1' } = options;
  const root = await mkdtemp(join(tmpdir(), 'git-source-'));
  const folder = join(root, 'docs');
  const git = async (...args: string[]) => {
    const { stdout } = await run('git', ['-C', folder, ...args], { maxBuffer: 64 * 1_048_576, env });
    return stdout;
  };
  await mkdir(folder);
  await git('init', '-q', '-b', 'main', `--object-format=${format}`);
  await git('config', 'uploadpack.allowFilter', String(filters));
  await git('commit', '-q', '--allow-empty', '-m', 'begin');
  const backend = join((await git('--exec-path')).trim(), 'git-http-backend');
  let [password, dirty, requests] = ['secret-1', false, 0];
  let pending = Promise.resolve();
  const flush = () => {
    pending = pending.then(async () => {
      if (!dirty) return;
      dirty = false;
      await git('add', '-A');
      await git('commit', '-q', '--allow-empty', '-m', 'change');
    });
    return pending;
  };
  const { origin, start, stop } = await startRestartable((request, response) => {
    requests += 1;
    if (self.intercept?.(request, response) === true) return;
    const given = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
    if (secured && request.headers.authorization !== given) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end();
      return;
    }
    void flush().then(() => answer({ backend, root }, request, response));
  });
  const self: GitServer = {
    slug: 'git',
    url: `${origin}/docs/.git`,
    scopeConfig: { url: `${origin}/docs/.git` },
    credential: secured ? { origin, value: { kind: 'basic', username, password } } : null,
    allowedOrigins: [origin],
    roots: {},
    intercept: null,
    git: async (...args) => {
      await flush();
      return git(...args);
    },
    treeOf: async (entries) => {
      const made = run('git', ['-C', folder, 'mktree', '-z'], { env });
      made.child.stdin?.end(entries);
      return (await made).stdout.trim();
    },
    put: async (name, content) => {
      await mkdir(dirname(join(folder, name)), { recursive: true });
      await writeFile(join(folder, name), content);
      dirty = true;
    },
    move: async (from, to) => {
      await mkdir(dirname(join(folder, to)), { recursive: true });
      await rename(join(folder, from), join(folder, to));
      dirty = true;
    },
    remove: async (name) => {
      await rm(join(folder, name), { recursive: true });
      dirty = true;
    },
    renewCredential: () => {
      password = `secret-${Number(password.slice(7)) + 1}`;
      return Promise.resolve({ kind: 'basic', username, password });
    },
    requests: () => requests,
    stop,
    start,
    close: async () => {
      await stop();
      // A commit may be under way.
      await pending.catch(() => undefined);
      await rm(root, { recursive: true, force: true, maxRetries: 5 });
    },
  };
  return self;
}

const env = {
  PATH: process.env['PATH'] ?? '',
  HOME: '/nonexistent',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_AUTHOR_NAME: 'a',
  GIT_AUTHOR_EMAIL: 'a@example.org',
  GIT_COMMITTER_NAME: 'a',
  GIT_COMMITTER_EMAIL: 'a@example.org',
};

function answer(
  { backend: program, root }: { backend: string; root: string },
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const { pathname, search } = new URL(request.url ?? '/', 'http://server');
  const backend = spawn(program, [], {
    env: {
      ...env,
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: '1',
      GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
      PATH_INFO: decodeURIComponent(pathname),
      QUERY_STRING: search.slice(1),
      REQUEST_METHOD: request.method ?? 'GET',
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      CONTENT_LENGTH: request.headers['content-length'] ?? '',
      REMOTE_ADDR: '127.0.0.1',
    },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  // On SIGTERM a process of git may raise the signal again and again, and take a whole processor for hours.
  response.on('close', () => backend.kill('SIGKILL'));
  backend.stdin.on('error', () => {});
  request.pipe(backend.stdin);
  let head: Buffer | null = Buffer.alloc(0);
  backend.stdout.on('data', (chunk: Buffer) => {
    if (head === null) {
      if (!response.write(chunk)) {
        backend.stdout.pause();
        response.once('drain', () => backend.stdout.resume());
      }
      return;
    }
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf('\r\n\r\n');
    if (end === -1) return;
    const headers = head
      .toString('latin1', 0, end)
      .split('\r\n')
      .map((line) => line.split(/: */, 2) as [string, string]);
    const status = headers.find(([name]) => name === 'Status')?.[1];
    response.writeHead(Number.parseInt(status ?? '200', 10), Object.fromEntries(headers));
    response.write(head.subarray(end + 4));
    head = null;
  });
  backend.stdout.on('end', () => response.end());
}
