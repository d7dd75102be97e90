/** Sessions of one principal that have neither ended nor expired. */
export const maxLiveSessions = 100;
