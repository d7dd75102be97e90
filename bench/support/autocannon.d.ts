/** The package brings no types; this is the part of it that is used here. */
declare module 'autocannon' {
  export interface Result {
    /** Seconds. */
    duration: number;
    errors: number;
    non2xx: number;
    requests: { total: number };
  }

  export default function autocannon(options: {
    url: string;
    headers?: Record<string, string>;
    connections: number;
    /** Seconds. */
    duration: number;
  }): Promise<Result>;
}
