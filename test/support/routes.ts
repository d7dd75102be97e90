import { fastify, type RouteOptions } from 'fastify';
import type { GatewayDependencies } from '#api/compose.ts';
import { restV1 } from '#api/rest/v1/index.ts';

/** The route table of version 1 as it is registered; `edit` may change a copy of each. */
export async function routesOf(
  deps: GatewayDependencies,
  edit: (route: RouteOptions) => void = () => undefined,
): Promise<RouteOptions[]> {
  const app = fastify();
  const routes: RouteOptions[] = [];
  app.setValidatorCompiler(() => () => true);
  app.setSerializerCompiler(() => JSON.stringify);
  app.addHook('onRoute', (route) => {
    if (route.method !== 'HEAD') {
      const copy = { ...route, config: { ...route.config }, schema: { ...route.schema } };
      edit(copy);
      routes.push(copy);
    }
  });
  await app.register(restV1(deps), { prefix: '/v1' });
  await app.ready();
  await app.close();
  return routes;
}
