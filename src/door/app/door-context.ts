import { createContext } from 'preact'
import { useContext, useEffect, useState } from 'preact/hooks'
import type { DoorEngine, EngineState } from '../engine/engine.ts'
import type { Feedback } from './feedback.ts'
import type { AppLanguage } from './language.ts'

export interface DoorApp {
  engine: DoorEngine
  language: AppLanguage
  feedback: Feedback
}

export const DoorContext = createContext<DoorApp | null>(null)

export function useDoor(): DoorApp {
  return useContext(DoorContext)!
}

export function useEngineState(): EngineState {
  const { engine } = useDoor()
  const [state, setState] = useState(engine.state)
  useEffect(() => {
    setState(engine.state)
    return engine.subscribe(setState)
  }, [engine])
  return state
}

/** Returns the time of the phone's clock or, if this clock is known to be wrong, the server's time. */
export function now({ problems }: EngineState): Date {
  const wrong = problems.find((problem) => problem.code === 'clock_wrong')
  return new Date(Date.now() - (wrong?.byMs ?? 0))
}
