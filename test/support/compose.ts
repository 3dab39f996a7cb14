import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'

export interface ComposeService {
  image: string
  command?: string[]
  environment?: Record<string, string>
  depends_on?: Record<string, { condition: string }>
  volumes?: string[]
  stop_grace_period?: string
  mem_limit?: string
  pids_limit?: number
  build?: string
}

/** Reads compose.yaml as Docker does, without replacing variables. */
export function readCompose(): { services: Record<string, ComposeService>; volumes: Record<string, unknown> } {
  return parse(readFileSync(join(import.meta.dirname, '../../compose.yaml'), 'utf8'), { merge: true })
}

/** Returns the services that run the program in a role. */
export function servicesOf(role: 'api' | 'worker'): [name: string, service: ComposeService][] {
  return Object.entries(readCompose().services).filter(([, { command = [] }]) => {
    const at = command.indexOf('--role')
    return command[0] === 'serve' && at > 0 && command[at + 1] === role
  })
}
