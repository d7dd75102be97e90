/** The package brings no types; this is the part of it that is used here. */
declare module 'autocannon' {
  export interface Result {
    /** Seconds. */
    duration: number;
    errors: number;
    non2xx: number;
    requests: { total: number };
  }

  export interface Connection {
    setRequests(requests: { method: string; path: string; headers: Record<string, string> }[]): void;
  }

  export default function autocannon(options: {
    url: string;
    connections: number;
    /** Seconds. */
    duration: number;
    /** Milliseconds between two samples. */
    sampleInt: number;
    /** Called for each connection before its request. */
    setupClient: (connection: Connection) => void;
  }): Promise<Result>;
}
