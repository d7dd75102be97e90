import { z } from 'zod';

export interface Visit {
  address: string;
  /** Links from a start address. */
  depth: number;
  /** Redirects on the way. */
  hops: number;
  /** A start address, or where one redirects to. */
  isStart: boolean;
  /** It is listed whatever page it names as canonical: another page names it, or what it names is no page. */
  standsAlone: boolean;
  /** Pages that answer and name this one as canonical: they are listed by it, or themselves if it is not. */
  namedBy: readonly string[];
}

/** A visit as a cursor holds it. */
export const encodedVisit = z.tuple([z.string(), z.int(), z.int(), z.int(), z.array(z.string())]);

type EncodedVisit = z.infer<typeof encodedVisit>;

export function encodeVisit({ address, depth, hops, isStart, standsAlone, namedBy }: Visit): EncodedVisit {
  return [address, depth, hops, (isStart ? 1 : 0) + (standsAlone ? 2 : 0), [...namedBy]];
}

export function decodeVisit([address, depth, hops, flags, namedBy]: EncodedVisit): Visit {
  return { address, depth, hops, isStart: (flags & 1) !== 0, standsAlone: (flags & 2) !== 0, namedBy };
}

/** Of the addresses that it holds. */
export function bytesOf({ address, namedBy }: Visit): number {
  return namedBy.reduce((sum, each) => sum + Buffer.byteLength(each), Buffer.byteLength(address));
}
