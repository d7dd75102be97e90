import type { FastifyInstance } from 'fastify';
import { DomainError } from '#domain/foundation/kernel/errors.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true });

declare module 'fastify' {
  interface FastifyRequest {
    /** Length of the received body, 0 without one. */
    bodyBytes: number;
  }
}

/** Bodies are JSON in well-formed UTF-8 without compression; keys that would set a prototype are refused. */
export function readJsonBodies(app: FastifyInstance): void {
  app.addHook('preParsing', async ({ headers }) => {
    const encoding = headers['content-encoding'] ?? 'identity';
    if (encoding.trim().toLowerCase() !== 'identity') {
      throw new DomainError(
        'unsupported_media_type',
        'The body must not be compressed: send it without Content-Encoding.',
      );
    }
  });
  app.decorateRequest('bodyBytes', 0);
  const parse = app.getDefaultJsonParser('error', 'error');
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body: Buffer, done) => {
    request.bodyBytes = body.length;
    if (body.length === 0) {
      // Many clients send a content type without a body.
      done(null, undefined);
      return;
    }
    let text: string;
    try {
      text = utf8.decode(body);
    } catch {
      done(new DomainError('invalid_request', 'The body is not valid UTF-8.'));
      return;
    }
    void parse(request, text, done);
  });
}
