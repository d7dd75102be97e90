/** Sent to websites; robots.txt addresses it by the part before the slash. */
export const userAgent = 'PlatformConnector/1.0';
