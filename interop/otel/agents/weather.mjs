// What the agents here share: three conversations, and a tool that knows one city.
import { z } from 'zod';

export const PROMPTS = ['What is the weather in Paris and in Atlantis?', 'Please greet me.', 'Please refuse this.'];

export const CITY = z.object({ city: z.string() });

export function weatherOf({ city }) {
  if (city === 'Atlantis') throw new Error(`no such city: ${city}`);
  return `sunny in ${city}`;
}
