import type { FastifyInstance } from 'fastify';
import { DomainError } from '#domain/foundation/kernel/errors.ts';

const maxDepth = 64;
const maxKeys = 10_000;

/** Refuses parsed bodies and queries that cannot be stored: too deep, NUL, lone surrogates. */
export function requireWellFormed(app: FastifyInstance): void {
  app.addHook('preValidation', async (request) => {
    checkWellFormed(request.query);
    checkWellFormed(request.params);
    checkWellFormed(request.body);
  });
}

/** @throws `invalid_request`, naming the member */
export function checkWellFormed(root: unknown): void {
  let keys = 0;
  const open: { value: unknown; depth: number; path: string }[] = [{ value: root, depth: 0, path: '' }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, depth, path } = next;
    if (typeof value === 'string') {
      checkText(value, path);
    } else if (typeof value === 'object' && value !== null) {
      if (depth >= maxDepth) {
        throw malformed('', `The body nests deeper than ${maxDepth} levels.`);
      }
      for (const [key, member] of Object.entries(value)) {
        keys += 1;
        if (keys > maxKeys) {
          throw malformed('', `The body has more than ${maxKeys} members.`);
        }
        checkText(key, path);
        open.push({ value: member, depth: depth + 1, path: path === '' ? key : `${path}.${key}` });
      }
    }
  }
}

function checkText(text: string, path: string): void {
  if (text.includes('\0') || !text.isWellFormed()) {
    throw malformed(path, 'Text must be well-formed Unicode without NUL.');
  }
}

function malformed(path: string, message: string): DomainError {
  const param = path.slice(0, 100);
  return new DomainError('invalid_request', message, param === '' ? {} : { param });
}
