export async function turn(round: number): Promise<number> {
  return round;
}

export async function call(round: number): Promise<number> {
  return round;
}
