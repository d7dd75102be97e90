import { randomBytes } from 'node:crypto';
import { newId } from '#domain/foundation/kernel/ids.ts';
import type { Call } from './gateway.ts';
import type { IdFixture } from './id-fixtures.ts';
import type { Maker, Place } from './places.ts';

/** A path below the space, created where it requires an existing resource. */
type PathIn = (place: Place) => Promise<string>;

/** An unused idempotency key. */
export const newKey = (): string => `key-${randomBytes(8).toString('hex')}`;

/** A cursor that no list has issued. */
export const someCursor = (): string =>
  `${randomBytes(30).toString('base64url')}.${randomBytes(32).toString('base64url')}`;

/** A call of the place's owner below its space. */
export function callAt(place: Place, method: string, path: string, more: Partial<Call> = {}): Call {
  return { method, path: `/v1/spaces/${place.spaceId}/${path}`, apiKey: place.apiKey, ...more };
}

/** Fixtures of the positions that operations within a space have in common. */
export function spaceFixtures(maker: Maker) {
  /** The same path for each call of a place. */
  const kept = (path: PathIn): PathIn => {
    const paths = new Map<string, Promise<string>>();
    return (place) => paths.get(place.spaceId) ?? paths.set(place.spaceId, path(place)).get(place.spaceId)!;
  };

  return {
    /** The space in the path. */
    spaceOf: (method: string, rest: PathIn, given?: object | (() => object)): IdFixture => ({
      make: async (place) => place.spaceId,
      unknown: newId,
      call: async (place, id) => {
        const body = typeof given === 'function' ? (given as () => object)() : given;
        const path = await rest(place);
        return callAt({ ...place, spaceId: id }, method, path, body === undefined ? {} : { body });
      },
      refusal: '404 space_not_found',
      neighbourRefusal: null,
    }),

    /** The key of an operation that creates a resource: another caller's key counts as new. */
    freshKey: (path: PathIn, given: object | ((seed: string) => object)): IdFixture => {
      const pathOf = kept(path);
      const call = async (place: Place, id: string) => {
        const body = typeof given === 'function' ? (given as (seed: string) => object)(id) : given;
        return callAt(place, 'POST', await pathOf(place), { body, headers: { 'idempotency-key': id } });
      };
      return {
        make: async (place) => {
          const id = newKey();
          await maker.send(await call(place, id));
          return id;
        },
        unknown: newKey,
        call,
        refusal: 'fresh',
      };
    },

    /** The cursor of a list that has more than one entry. */
    cursorOf: (list: PathIn): IdFixture => {
      const listOf = kept(list);
      return {
        make: async (place) => maker.cursor(place, await listOf(place)),
        unknown: someCursor,
        call: async (place, id) => callAt(place, 'GET', `${await listOf(place)}?cursor=${id}`),
        refusal: '422 invalid_cursor',
      };
    },
  };
}
