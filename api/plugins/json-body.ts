import type { FastifyInstance } from 'fastify';
import { DomainError } from '#domain/kernel/errors.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Bodies are JSON in well-formed UTF-8 and nothing else; keys that reach for a prototype are refused. */
export function readJsonBodies(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error');
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body: Buffer, done) => {
    if (body.length === 0) {
      // Many clients name a content type whether or not there is content.
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
