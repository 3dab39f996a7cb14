import { createContext } from 'preact'
import { useContext, useEffect, useState } from 'preact/hooks'
import type { DoorEngine, EngineState } from '../engine/engine.ts'
import type { Feedback } from './feedback.ts'
import type { AppLanguage } from './language.ts'

/** What every part of the page shares. */
export interface DoorApp {
  engine: DoorEngine
  language: AppLanguage
  feedback: Feedback
}

/** Where the parts of the page find it. */
export const DoorContext = createContext<DoorApp | null>(null)

/** What every part of the page shares. */
export function useDoor(): DoorApp {
  return useContext(DoorContext)!
}

/** The state of the engine, drawn anew when it changes. */
export function useEngineState(): EngineState {
  const { engine } = useDoor()
  const [state, setState] = useState(engine.state)
  useEffect(() => {
    setState(engine.state)
    return engine.subscribe(setState)
  }, [engine])
  return state
}

/** The moment by the clock of the server, where that of the phone is known to be wrong. */
export function now({ problems }: EngineState): Date {
  const wrong = problems.find((problem) => problem.code === 'clock_wrong')
  return new Date(Date.now() - (wrong?.byMs ?? 0))
}
