import '#api/plugins/route-config.ts';
import cookie from '@fastify/cookie';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import type { ZodTypeProvider } from '@fastify/type-provider-zod';
import type { GatewayDependencies } from '#api/compose.ts';
import { connectionSettings } from '#api/connections.ts';
import { errorResponses } from '#api/contract/common.ts';
import * as contract from '#api/contract/connections.ts';
import { connectPage } from '#api/pages/connect-page.ts';
import { donePage, questionPage, sendPage } from '#api/pages/connection-pages.ts';
import type { SignInLimits } from '#api/limits/sign-in-limits.ts';
import { clientDocument } from '#domain/capabilities/connections/client-metadata.ts';
import { callbackAt } from '#domain/capabilities/connections/connection-parts.ts';
import { finishPopup } from '#domain/capabilities/connections/finish-popup.ts';
import { noAttempt } from '#domain/capabilities/connections/locate-attempt.ts';
import { answerPopup, openPopup } from '#domain/capabilities/connections/open-popup.ts';
import { popupCookie, setPopupCookie } from './popup-cookie.ts';
import { disableCaching } from '../sign-in/login-cookie.ts';
import { wantsPage } from '../sign-in/routes.ts';

const tags = ['Tool servers'];
const pages = ['text/html'];

/** Checkers of links send HEAD: it uses nothing up. */
function rejectHead({ method }: FastifyRequest): void {
  if (method === 'HEAD') {
    throw noAttempt();
  }
}

/** What the popup's window opens: it has no credential, only the nonce or the state of one attempt. */
export function connectionPopupRoutes(deps: GatewayDependencies, limits: SignInLimits) {
  return async (instance: FastifyInstance): Promise<void> => {
    await instance.register(cookie);
    const app = instance.withTypeProvider<ZodTypeProvider>();
    const settings = connectionSettings(deps);
    app.addHook('onRequest', async (_request, reply) => disableCaching(reply));

    app.get(
      '/mcp-auth/start',
      {
        config: {
          public: 'the nonce is the credential',
          audit: ['security.mcp_auth_failed'],
          sendsFile: pages,
        },
        schema: {
          tags,
          operationId: 'openConnectionPopup',
          summary: 'Show what a connection is for, and lead to the authorization server',
          description:
            'For browsers: the address that initiate gives. It works in the first browser that opens it.',
          querystring: contract.startQuery,
          security: [],
          response: { 200: contract.popupPage, 303: contract.popupPage, ...errorResponses },
        },
      },
      async (request, reply) => {
        rejectHead(request);
        limits.start(request.ip);
        const { nonce, csrf, decision } = request.query;
        const cookieValue = popupCookie(request);
        if (decision !== undefined) {
          const address = await answerPopup(deps, {
            nonce,
            cookie: cookieValue,
            csrf: csrf ?? '',
            accepts: decision === 'continue',
            requestId: request.id,
          });
          return reply.redirect(address, 303);
        }
        const question = await openPopup(deps, { nonce, cookie: cookieValue });
        setPopupCookie(reply, question.cookie);
        const answer = (given: string) => {
          const query = new URLSearchParams({ nonce, csrf: question.csrf, decision: given });
          return `${settings.apiUrl}/v1/mcp-auth/start?${query.toString()}`;
        };
        return sendPage(reply, questionPage(question, answer));
      },
    );

    const finished = async (
      request: FastifyRequest,
      reply: FastifyReply,
      { query, key }: { query: z.infer<typeof contract.callbackQuery>; key: string | null },
    ) => {
      rejectHead(request);
      const address = await finishPopup(deps, {
        state: query.state ?? null,
        code: query.code ?? null,
        issuer: query.iss ?? null,
        error: query.error ?? null,
        callbackUri: callbackAt(settings, key),
        cookie: popupCookie(request),
        requestId: request.id,
      });
      return wantsPage(request) ? reply.redirect(address, 303) : { redirect_url: address };
    };

    app.get(
      '/mcp-auth/callback/:issuer',
      {
        config: { public: 'the state is the credential', audit: ['security.mcp_auth_failed'] },
        schema: {
          tags,
          operationId: 'finishConnectionPopup',
          summary: 'Receive the redirect of the authorization server that the address names',
          description:
            'Leads to the redirect_uri with a one-time handle for POST /v1/mcp-auth/complete, or with error: a code of a fixed list. A browser that accepts text/html is redirected.',
          params: contract.issuerParams,
          querystring: contract.callbackQuery,
          security: [],
          response: { 200: contract.finishedPopup, 303: contract.finishedPopup, ...errorResponses },
        },
      },
      (request, reply) => finished(request, reply, { query: request.query, key: request.params.issuer }),
    );

    app.get(
      '/mcp-auth/callback',
      {
        config: { public: 'the state is the credential', audit: ['security.mcp_auth_failed'] },
        schema: {
          tags,
          operationId: 'finishEarlierPopup',
          summary: 'Receive the redirect of attempts that began before each authorization server had its own',
          querystring: contract.callbackQuery,
          security: [],
          response: { 200: contract.finishedPopup, 303: contract.finishedPopup, ...errorResponses },
        },
      },
      (request, reply) => finished(request, reply, { query: request.query, key: null }),
    );

    app.get(
      '/mcp-auth/done',
      {
        config: { public: 'a static page', audit: { none: 'reads' }, sendsFile: pages },
        schema: {
          tags,
          operationId: 'endConnectionPopup',
          summary: 'End the popup of a client that has no page of its own',
          description: 'Hands the handle to pages of this origin through the BroadcastChannel mcp-auth.',
          querystring: contract.doneQuery,
          security: [],
          response: { 200: contract.popupPage, ...errorResponses },
        },
      },
      async (request, reply) => sendPage(reply, donePage(request.query.error ?? null)),
    );

    app.get(
      '/mcp-auth/connect',
      {
        config: { public: 'a static page', audit: { none: 'reads' }, sendsFile: pages },
        schema: {
          tags,
          operationId: 'showConnectPage',
          summary: 'Say how to connect the account that a call needs',
          description: 'The url of an elicitation. It asks for no credential, and begins nothing by itself.',
          querystring: contract.connectQuery,
          security: [],
          response: { 200: contract.popupPage, ...errorResponses },
        },
      },
      async (request, reply) => sendPage(reply, connectPage(request.query.server_id)),
    );

    app.get(
      '/mcp-auth/clients/:issuer/client.json',
      {
        config: { public: 'authorization servers fetch it', audit: { none: 'reads' } },
        schema: {
          tags,
          operationId: 'getClientDocument',
          summary: 'The platform as an OAuth client of one issuer (client id metadata document)',
          params: contract.issuerParams,
          security: [],
          response: { 200: contract.clientDocument, ...errorResponses },
        },
      },
      async (request) => clientDocument(settings, request.params.issuer),
    );

    app.get(
      '/mcp-auth/client.json',
      {
        config: { public: 'authorization servers fetch it', audit: { none: 'reads' } },
        schema: {
          tags,
          operationId: 'getEarlierClientDocument',
          summary: 'The document of connections from before each issuer had its own',
          security: [],
          response: { 200: contract.clientDocument, ...errorResponses },
        },
      },
      async () => clientDocument(settings, null),
    );
  };
}
