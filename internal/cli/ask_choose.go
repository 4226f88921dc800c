package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/internal/tty"
)

// errNoChoices is noChoices for the agent's questions.
var errNoChoices = errors.New("denied: the user can't choose an answer here; decide, or end with the question")

// choose is a [clew.QuestionFunc]. The user answers by number or in their own words.
func (a *questioner) choose(ctx context.Context, req *clew.QuestionRequest) (result *clew.QuestionResult, err error) {
	err = a.put(ctx, req.Permission, func(ctx context.Context) (err error) {
		result, err = a.chooseAll(ctx, req)
		return err
	})
	return result, err
}

func (a *questioner) chooseAll(ctx context.Context, req *clew.QuestionRequest) (*clew.QuestionResult, error) {
	if err := a.open(); err != nil {
		a.screen.note("! AskUserQuestion denied: " + err.Error())
		return nil, errNoChoices
	}
	defer a.hold()()
	answers := map[string][]string{}
	err := a.settle(ctx)
	for i := 0; i < len(req.Questions) && err == nil; i++ {
		var chosen []string
		q := &req.Questions[i]
		s := describeQuestion(q, a.view())
		if len(req.Questions) > 1 {
			s.aside = fmt.Sprintf("question %d of %d", i+1, len(req.Questions))
		}
		if chosen, err = a.chooseOne(ctx, q, s); len(chosen) > 0 {
			answers[q.Question] = chosen
		}
	}
	switch {
	case errors.Is(err, errInputEnded), err == nil && len(answers) == 0:
		return nil, nil // the user won't answer, or has skipped all questions
	case err != nil:
		return nil, err
	}
	return &clew.QuestionResult{Answers: answers}, nil
}

// chooseOne shows a question, page by page, and repeats it until it has an answer. No choice means
// that the user skipped it.
func (a *questioner) chooseOne(ctx context.Context, q *clew.Question, s *sheet) (chosen []string, err error) {
	promptRows := strings.Count(choicePrompt(q, s), "\n") + 1
	for above := s.page(promptRows); ; {
		line, err := a.answer(ctx, above, choicePrompt(q, s))
		if err != nil {
			return nil, err
		}
		above = ""
		if !s.complete() && strings.TrimSpace(line) == "" {
			_, s.view.rows = a.console.size()
			above = s.page(promptRows)
		} else if chosen, ok := chosenOf(line, q); ok {
			return chosen, nil
		}
	}
}

func choicePrompt(q *clew.Question, s *sheet) string {
	number, nothing := "Number", "nothing to skip"
	if q.MultiSelect {
		number = "Numbers"
	}
	if !s.complete() {
		nothing = "nothing to see more"
	}
	return s.prompt(number + ", your own words, or " + nothing + ": ")
}

// describeQuestion returns a question with its options.
func describeQuestion(q *clew.Question, v view) *sheet {
	s := &sheet{view: v, head: "Question"}
	if q.Header != "" {
		s.head += ": " + tty.CleanLine(clip(q.Header))
	}
	for line := range strings.SplitSeq(strings.TrimRight(q.Question, "\n"), "\n") {
		s.addStyled(tty.Strong, 0, line)
	}
	for i, option := range q.Options {
		label := fmt.Sprintf("%d. %s", i+1, option.Label)
		if option.Description != "" {
			label += ": " + option.Description
		}
		s.add(partIndent, label)
		for line := range strings.Lines(option.Preview) {
			s.add(partIndent+len("1. "), strings.TrimSuffix(line, "\n"))
		}
	}
	return s
}

// chosenOf returns the meaning of an answer: the labels of the options with its numbers, or its own
// words. It is not ok if a number is out of range, or if there are too many.
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

// numbersOf returns the numbers of a line that contains only numbers.
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
