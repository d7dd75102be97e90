import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { asPage, page } from '#api/pages/connection-pages.ts';
import { refusalText } from '#api/pages/popup-ends.ts';
import { wantsPage } from '../sign-in/routes.ts';

const form = 'application/x-www-form-urlencoded';

/** A form of a few short fields, as browsers send it. */
export function readForms(app: FastifyInstance): void {
  app.addContentTypeParser(form, { parseAs: 'string' }, (request, body: string, done) => {
    request.bodyBytes = Buffer.byteLength(body);
    done(null, Object.fromEntries(new URLSearchParams(body)));
  });
}

/** A browser that asks for a page gets one also for an error: no person reads an error body. */
export function showRefusals(app: FastifyInstance): void {
  app.addHook('onSend', async (request, reply, payload) =>
    reply.statusCode >= 400 && wantsPage(request) ? asRefusal(request, reply, payload) : payload,
  );
}

function asRefusal({ id }: FastifyRequest, reply: FastifyReply, payload: unknown): string {
  const { title, text } = refusalText(codeOf(payload));
  asPage(reply);
  return page(title, [`<p>${text}</p>`, `<p><small>Request <code>${id}</code></small></p>`]);
}

function codeOf(payload: unknown): string {
  const body =
    typeof payload === 'string' ? (JSON.parse(payload) as { code?: string; error?: { code?: string } }) : {};
  return body.error?.code ?? body.code ?? '';
}
