import type { RouteOptions } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { buildApp } from '#api/app.ts';
import { assemble, type Gateway } from '#api/compose.ts';
import { permissions } from '#domain/foundation/access/permissions.ts';
import { eventTypes } from '#domain/foundation/events/catalogue.ts';
import { gatewayConfig } from '../support/gateway.ts';
import { routesOf } from '../support/routes.ts';

let gateway: Gateway;

beforeAll(() => {
  gateway = assemble(gatewayConfig('postgres://nobody@127.0.0.1:1/none'));
});
afterAll(() => gateway.close());

/** Declarations that a route lacks. */
function missingFrom(route: RouteOptions): string[] {
  const { config = {}, schema } = route;
  const audit = config.audit;
  const audited =
    audit !== undefined &&
    ('none' in audit
      ? audit.none !== ''
      : audit.length > 0 && audit.every((type) => eventTypes.includes(type)));
  const permitted = config.permission !== undefined && permissions.includes(config.permission);
  const statuses = Object.keys(schema?.response ?? {});
  const creates = route.method === 'POST' && statuses.includes('201');
  const headers = schema?.headers;
  const takesKey = headers instanceof z.ZodObject && 'idempotency-key' in headers.shape;
  return [
    ...(permitted || [config.public, config.own].some((reason) => (reason ?? '') !== '')
      ? []
      : ['permission']),
    ...(audited ? [] : ['audit']),
    ...(statuses.some((status) => /^(2\d\d|303)$/.test(status)) ? [] : ['response schema']),
    ...(schema?.operationId === undefined ? ['operationId'] : []),
    ...(creates && !takesKey ? ['idempotency key'] : []),
  ];
}

const problemsOf = (routes: RouteOptions[]) =>
  routes.flatMap((route) =>
    missingFrom(route).map((what) => `${String(route.method)} ${route.url}: ${what}`),
  );

describe('every operation of version 1', () => {
  it('declares its permission, its audit events and the schema of its success', async () => {
    const routes = await routesOf(gateway);
    expect(routes.length).toBeGreaterThan(10);
    expect(problemsOf(routes)).toEqual([]);
  });

  it.each([
    ['permission', (route: RouteOptions) => delete route.config!.permission && delete route.config!.own],
    ['audit', (route: RouteOptions) => delete route.config!.audit],
    ['audit', (route: RouteOptions) => Object.assign(route.config!, { audit: ['space.exploded'] })],
    ['response schema', (route: RouteOptions) => delete route.schema!.response],
    ['operationId', (route: RouteOptions) => delete route.schema!.operationId],
  ])('is reported when it lacks its %s', async (what, remove) => {
    const routes = await routesOf(gateway, (route) => {
      if (route.method === 'DELETE' && route.url === '/v1/spaces/:space_id/responses/:response_id') {
        remove(route);
      }
    });
    expect(problemsOf(routes)).toEqual([`DELETE /v1/spaces/:space_id/responses/:response_id: ${what}`]);
  });

  it('takes an Idempotency-Key where it creates something, and is reported when it does not', async () => {
    const routes = await routesOf(gateway, (route) => {
      if (route.method === 'POST' && route.url === '/v1/admin/models') delete route.schema!.headers;
    });
    expect(problemsOf(routes)).toEqual(['POST /v1/admin/models: idempotency key']);
  });

  it('is served under both prefixes', async () => {
    const app = await buildApp(gateway);
    await app.close();
    for (const { url, method } of await routesOf(gateway)) {
      for (const prefix of ['/api', '/api-proxy']) {
        expect(app.hasRoute({ method: method as 'GET', url: `${prefix}${url}` }), prefix + url).toBe(true);
      }
    }
  });
});
