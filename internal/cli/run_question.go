package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/clewdev/clew"
)

// errNoChoices is noChoices for the agent's questions.
var errNoChoices = errors.New("denied: the user can't choose an answer here; decide, or end with the question")

// choose is a [clew.QuestionFunc]: it puts the agent's questions to the user, who
// chooses by number or answers in other words.
func (a *asker) choose(ctx context.Context, req *clew.QuestionRequest) (result *clew.QuestionResult, err error) {
	err = a.put(ctx, req.Permission, func(ctx context.Context) (err error) {
		result, err = a.chooseAll(ctx, req)
		return err
	})
	return result, err
}

func (a *asker) chooseAll(ctx context.Context, req *clew.QuestionRequest) (*clew.QuestionResult, error) {
	if err := a.open(); err != nil {
		a.screen.note("! AskUserQuestion denied: " + err.Error())
		return nil, errNoChoices
	}
	defer a.hold()()
	answers := map[string][]string{}
	for i := range req.Questions {
		q := &req.Questions[i]
		chosen, more, err := a.chooseOne(ctx, q)
		if err != nil || !more {
			return nil, err // nil means that the user won't answer
		}
		if len(chosen) > 0 {
			answers[q.Question] = chosen
		}
	}
	if len(answers) == 0 {
		return nil, nil // as above
	}
	return &clew.QuestionResult{Answers: answers}, nil
}

// chooseOne repeats a question until it has an answer. None means that the user has
// passed it over. There is no more when the input has ended.
func (a *asker) chooseOne(ctx context.Context, q *clew.Question) (chosen []string, more bool, err error) {
	a.say(describeQuestion(q))
	hint := "Number, your own words, or nothing to pass over: "
	if q.MultiSelect {
		hint = "Numbers, your own words, or nothing to pass over: "
	}
	for {
		line, more, err := a.answer(ctx, hint)
		if err != nil || !more {
			return nil, false, err
		}
		if chosen, ok := chosenOf(line, q); ok {
			return chosen, true, nil
		}
	}
}

func describeQuestion(q *clew.Question) string {
	var b strings.Builder
	b.WriteString("? " + harmless(q.Question) + "\n")
	for i, option := range q.Options {
		fmt.Fprintf(&b, "  %d. %s", i+1, printable(option.Label))
		if option.Description != "" {
			b.WriteString(": " + printable(option.Description))
		}
		b.WriteString("\n")
		for line := range strings.Lines(shown(option.Preview)) {
			b.WriteString("     " + harmless(strings.TrimSuffix(line, "\n")) + "\n")
		}
	}
	return b.String()
}

// chosenOf returns what an answer means: the labels of the options whose numbers it
// has, or its own words. It is not ok if it has other numbers, or too many.
func chosenOf(line string, q *clew.Question) (chosen []string, ok bool) {
	line = strings.TrimSpace(line)
	if line == "" {
		return nil, true
	}
	numbers, ok := numbersOf(line)
	if !ok {
		return []string{line}, true
	}
	if len(numbers) > 1 && !q.MultiSelect {
		return nil, false
	}
	for _, n := range numbers {
		if n < 1 || n > len(q.Options) {
			return nil, false
		}
		if label := q.Options[n-1].Label; !slices.Contains(chosen, label) {
			chosen = append(chosen, label)
		}
	}
	return chosen, true
}

// numbersOf returns the numbers of a line that has nothing else.
func numbersOf(line string) (numbers []int, ok bool) {
	for _, word := range list(line) {
		n, err := strconv.Atoi(word)
		if err != nil {
			return nil, false
		}
		numbers = append(numbers, n)
	}
	return numbers, len(numbers) > 0
}
