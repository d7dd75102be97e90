import '#api/plugins/route-config.ts';
import cookie from '@fastify/cookie';
import type { FastifyContextConfig, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import type { ZodTypeProvider } from '@fastify/type-provider-zod';
import type { GatewayDependencies } from '#api/compose.ts';
import { connectionSettings } from '#api/connections.ts';
import { errorResponses } from '#api/contract/common.ts';
import * as contract from '#api/contract/connections.ts';
import { connectPage } from '#api/pages/connect-page.ts';
import { asPage, donePage, questionPage } from '#api/pages/connection-pages.ts';
import { popupLimits } from '#api/limits/popup-limits.ts';
import { clientDocument } from '#domain/capabilities/connections/client-metadata.ts';
import { callbackAt } from '#domain/capabilities/connections/connection-parts.ts';
import { finishPopup } from '#domain/capabilities/connections/finish-popup.ts';
import { noAttempt } from '#domain/capabilities/connections/locate-attempt.ts';
import { answerPopup, openPopup } from '#domain/capabilities/connections/open-popup.ts';
import type { PopupEnd } from '#domain/capabilities/connections/popup-end.ts';
import { clearPopupCookie, popupCookie, setPopupCookie } from './popup-cookie.ts';
import { readForms, showRefusals } from './popup-pages.ts';
import { disableCaching } from '../sign-in/login-cookie.ts';
import { wantsPage } from '../sign-in/routes.ts';

const tags = ['Tool servers'];
const pages = ['text/html'];

const atCallback: FastifyContextConfig = {
  public: 'the state is the credential',
  audit: ['security.mcp_auth_failed'],
  refusesInPages: true,
};
const returned = {
  querystring: contract.callbackQuery,
  security: [],
  response: { 200: contract.finishedPopup, 303: contract.finishedPopup, ...errorResponses },
};

/** Checkers of links send HEAD: it uses nothing up. */
function rejectHead({ method }: FastifyRequest): void {
  if (method === 'HEAD') {
    throw noAttempt();
  }
}

/** The address at which the popup goes on; a browser whose part is over forgets the attempt. */
function follow(reply: FastifyReply, { attemptId, isOver, address }: PopupEnd): string {
  if (isOver) {
    clearPopupCookie(reply, attemptId);
  }
  return address;
}

/** What the popup's window opens: it has no credential, only the nonce or the state of one attempt. */
export function connectionPopupRoutes(deps: GatewayDependencies) {
  const limits = popupLimits(deps.config);
  return async (instance: FastifyInstance): Promise<void> => {
    await instance.register(cookie);
    const app = instance.withTypeProvider<ZodTypeProvider>();
    const settings = connectionSettings(deps);
    app.addHook('onRequest', async (_request, reply) => disableCaching(reply));
    readForms(instance);
    showRefusals(instance);

    app.get(
      '/mcp-auth/start',
      {
        config: {
          public: 'the nonce is the credential',
          audit: { none: 'its form records what is decided' },
          sendsFile: pages,
          refusesInPages: true,
        },
        schema: {
          tags,
          operationId: 'openConnectionPopup',
          summary: 'Show what a connection is for, and lead to the authorization server',
          description:
            'For browsers: the address that initiate gives. It works in the first browser that opens it.',
          querystring: contract.startQuery,
          security: [],
          response: { 200: contract.popupPage, ...errorResponses },
        },
      },
      async (request, reply) => {
        rejectHead(request);
        limits.start(request.ip);
        const { nonce } = request.query;
        const cookieOf = (id: string) => popupCookie(request, id);
        const question = await openPopup(deps, { nonce, cookieOf });
        setPopupCookie(reply, question.attemptId, question.cookie);
        const action = `${settings.apiUrl}/v1/mcp-auth/start`;
        return asPage(reply, { hasForm: true }).send(questionPage(question, { action, nonce }));
      },
    );

    app.post(
      '/mcp-auth/start',
      {
        bodyLimit: 4_096,
        config: {
          public: 'the nonce is the credential',
          audit: ['security.mcp_auth_failed'],
          refusesInPages: true,
        },
        schema: {
          tags,
          operationId: 'answerConnectionPopup',
          summary: 'Go on to the authorization server, or cancel',
          description: 'The form of the popup’s page; it works once, in the browser that shows the page.',
          consumes: ['application/x-www-form-urlencoded', 'application/json'],
          body: contract.startForm,
          security: [],
          response: { 303: contract.popupPage, ...errorResponses },
        },
      },
      async (request, reply) => {
        limits.start(request.ip);
        const { nonce, csrf, decision } = request.body;
        const next = await answerPopup(deps, {
          nonce,
          csrf,
          cookieOf: (id) => popupCookie(request, id),
          accepts: decision === 'continue',
          requestId: request.id,
        });
        return reply.redirect(follow(reply, next), 303);
      },
    );

    const finished = async (
      request: FastifyRequest,
      reply: FastifyReply,
      { query, key }: { query: z.infer<typeof contract.callbackQuery>; key: string | null },
    ) => {
      rejectHead(request);
      limits.callback(request.ip);
      const end = await finishPopup(deps, {
        state: query.state ?? null,
        code: query.code ?? null,
        issuer: query.iss ?? null,
        error: query.error ?? null,
        callbackUri: callbackAt(settings, key),
        cookieOf: (id) => popupCookie(request, id),
        requestId: request.id,
      });
      const address = follow(reply, end);
      return wantsPage(request) ? reply.redirect(address, 303) : { redirect_url: address };
    };

    app.get(
      '/mcp-auth/callback/:issuer',
      {
        config: atCallback,
        schema: {
          tags,
          operationId: 'finishConnectionPopup',
          summary: 'Receive the redirect of the authorization server that the address names',
          description:
            'Leads to the redirect_uri with server_id or connector_id, and with a one-time handle for POST /v1/mcp-auth/complete or with error: a code of a fixed list. A browser that accepts text/html is redirected.',
          params: contract.issuerParams,
          ...returned,
        },
      },
      (request, reply) => finished(request, reply, { query: request.query, key: request.params.issuer }),
    );

    app.get(
      '/mcp-auth/callback',
      {
        config: atCallback,
        schema: {
          tags,
          operationId: 'finishEarlierPopup',
          summary: 'Receive the redirect of attempts that began before each authorization server had its own',
          ...returned,
        },
      },
      (request, reply) => finished(request, reply, { query: request.query, key: null }),
    );

    app.get(
      '/mcp-auth/done',
      {
        config: { public: 'a static page', audit: { none: 'reads' }, sendsFile: pages, refusesInPages: true },
        schema: {
          tags,
          operationId: 'endConnectionPopup',
          summary: 'End the popup of a client that has no page of its own',
          description:
            'Hands server_id with handle or error to pages of this origin through the BroadcastChannel mcp-auth.',
          querystring: contract.doneQuery,
          security: [],
          response: { 200: contract.popupPage, ...errorResponses },
        },
      },
      async (request, reply) => asPage(reply).send(donePage(request.query.error ?? null)),
    );

    app.get(
      '/mcp-auth/connect',
      {
        config: { public: 'a static page', audit: { none: 'reads' }, sendsFile: pages, refusesInPages: true },
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
      async (request, reply) => asPage(reply).send(connectPage(request.query.server_id)),
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
